/** A file that declares pipelines is wrong. */
export class DeclarationError extends Error {
  override readonly name = 'DeclarationError'
  /** `file:line:column: field: what is wrong`, one for each mistake. */
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}
