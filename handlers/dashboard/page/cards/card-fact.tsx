import { Icon, type IconName } from '../ui/icon.tsx'

interface CardFactProps {
  readonly icon: IconName
  readonly name: string
  readonly children: string
}

/** A fact in the foot of a card. */
export const CardFact = ({ icon, name, children }: CardFactProps) => (
  <div>
    <dt>
      <Icon name={icon} />
      <span class="sr-only">{name}</span>
    </dt>
    <dd>{children}</dd>
  </div>
)
