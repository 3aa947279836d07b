import type { Child } from './child.ts'

/** Blanks the arguments of gst-launch-1.0, which has read them when it prints its first line; `note` takes a line for the log where that fails. */
export const hideArguments = (child: Child, note: (line: string) => void): void => {
  child.stdout.once('data', () => {
    void child.eraseArguments().then((erased) => {
      if (!erased) note('the arguments of the process cannot be hidden here (kernel.yama.ptrace_scope)')
    })
  })
}
