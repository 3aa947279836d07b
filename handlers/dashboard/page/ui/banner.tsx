import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

/** A fault, which a screen reader reads at once. */
export const Banner = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="banner banner-bad" role="alert">
    <Icon name="alert" />
    {children}
  </div>
)
