interface FactProps {
  readonly name: string
  readonly isCode?: boolean
  readonly children: string
}

/** A row of a list of facts. */
export const Fact = ({ name, isCode = false, children }: FactProps) => (
  <div>
    <dt>{name}</dt>
    <dd class={isCode ? 'mono' : ''}>{children}</dd>
  </div>
)
