import { Page } from '../ui/page.tsx'
import { PasswordPanel } from './password-panel.tsx'
import { ServicePanel } from './service-panel.tsx'
import { SettingsForm } from './settings-form.tsx'
import { useSettings } from './use-settings.ts'
import { WebhooksPanel } from './webhooks-panel.tsx'

/** Service status, password, settings and webhooks. */
export const SettingsPage = () => {
  const record = useSettings()
  const { value, failure } = record
  return (
    <Page title="Settings" isNarrow>
      <div class="stack">
        <ServicePanel />
        <PasswordPanel />
        {failure.value !== '' && <p role="alert">{failure.value}</p>}
        {value.value !== undefined && (
          <>
            <SettingsForm record={record} read={value.value} />
            <WebhooksPanel record={record} read={value.value} />
          </>
        )}
      </div>
    </Page>
  )
}
