/** An unknown host, whose name may be misspelled. */
export const unknownHost = (host: string): Error => new Error(`The fleet has no host ${host}. Run \`fleet ls\` to see its hosts.`)
