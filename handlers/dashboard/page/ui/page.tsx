import type { ComponentChildren } from 'preact'

interface PageProps {
  readonly title: string
  /** Beside the title. */
  readonly action?: ComponentChildren
  readonly isNarrow?: boolean
  readonly isBusy?: boolean
  readonly children: ComponentChildren
}

export const Page = ({ title, action, isNarrow = false, isBusy = false, children }: PageProps) => (
  <div class={isNarrow ? 'page page-narrow' : 'page'} aria-busy={isBusy}>
    <div class="head">
      <h1>{title}</h1>
      {action}
    </div>
    {children}
  </div>
)
