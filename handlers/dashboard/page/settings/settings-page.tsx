import { Page } from '../ui/page.tsx'
import { PasswordPanel } from './password-panel.tsx'
import { ServicePanel } from './service-panel.tsx'
import { SettingsForm } from './settings-form.tsx'

/** Service status, password and settings. */
export const SettingsPage = () => (
  <Page title="Settings" isNarrow>
    <div class="stack">
      <ServicePanel />
      <PasswordPanel />
      <SettingsForm />
    </div>
  </Page>
)
