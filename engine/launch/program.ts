import { Fault } from '../faults/fault.ts'

/** Cause of a fault: another program of the MPEG-TS is the one to read. */
class OtherProgram {
  readonly program: number

  constructor(program: number) {
    this.program = program
  }
}

/** Ends a run that reads a program without video: tsdemux stays with the one whose map comes first, and takes another only from its start. */
export const otherProgram = (program: number): Fault =>
  new Fault('source_error', `The program of the MPEG-TS that is read has no video. The next attempt reads program ${program}.`, {
    cause: new OtherProgram(program),
  })

/** The program that the run before found to be the one to read; undefined when that was not why it ended. */
export const programToRead = (previousFault: Fault | undefined): number | undefined =>
  previousFault?.cause instanceof OtherProgram ? previousFault.cause.program : undefined
