/** A declaration file has mistakes. */
export class DeclarationError extends Error {
  override readonly name = 'DeclarationError'
  /** `file:line:column: field: mistake` */
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}
