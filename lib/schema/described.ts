import * as v from 'valibot'

/** A schema with the sentence that the API document has for it; units stand there. */
export const described = <const S extends v.GenericSchema>(schema: S, description: string) => v.pipe(schema, v.description(description))
