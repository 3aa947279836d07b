import { PasswordPanel } from './password-panel.tsx'
import { ServicePanel } from './service-panel.tsx'
import { SettingsForm } from './settings-form.tsx'

/** The settings of the service, its password, and how it is. */
export const SettingsPage = () => (
  <div class="page page-narrow">
    <div class="head">
      <h1>Settings</h1>
    </div>
    <div class="stack">
      <ServicePanel />
      <PasswordPanel />
      <SettingsForm />
    </div>
  </div>
)
