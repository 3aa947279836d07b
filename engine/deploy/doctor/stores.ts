import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { pathToFileURL } from 'node:url'
import { checkDatabase } from '../../../db/open.ts'
import type { Configuration } from '../../../lib/configuration/configuration.ts'
import { messageOf } from '../../../lib/errors.ts'
import { LICENSE_ADVICE, licenseFault } from '../../../lib/license/license.ts'
import type { Clock } from '../../../lib/ports.ts'
import type { Finding } from './report.ts'

/** What the service reads at its start and while it runs: database, license, certificate. */
export const checkStores = async (configuration: Configuration, clock: Clock): Promise<readonly Finding[]> => [
  await checkStored(configuration),
  ...(await checkLicense(configuration, clock)),
  ...checkCertificate(configuration),
]

/** Makes no database where there is none. */
const checkStored = async ({ databaseUrl, databaseAuthToken, dataDir }: Configuration): Promise<Finding> => {
  const name = 'database'
  const file = join(dataDir, 'service.db')
  if (databaseUrl === undefined && !existsSync(file)) return { name, status: 'ok', message: 'is created at the first start' }
  try {
    const url = databaseUrl ?? pathToFileURL(file).href
    await checkDatabase({ url, ...(databaseAuthToken !== undefined && { authToken: databaseAuthToken }) }, async () => undefined)
    return { name, status: 'ok', message: 'can be used' }
  } catch (error) {
    return { name, status: 'failed', message: messageOf(error) }
  }
}

const checkLicense = async ({ licenseFile }: Configuration, clock: Clock): Promise<readonly Finding[]> => {
  if (licenseFile === undefined) return []
  const name = 'license'
  const fault = await licenseFault({ read: () => readFile(licenseFile, 'utf8') }, clock)
  if (fault === undefined) return [{ name, status: 'ok', message: `${licenseFile} is valid` }]
  return [{ name, status: 'warning', message: `${licenseFile} cannot be used (${fault})`, advice: LICENSE_ADVICE }]
}

const checkCertificate = ({ outputTlsCert, outputTlsKey }: Configuration): readonly Finding[] => {
  if (outputTlsCert === undefined || outputTlsKey === undefined) return []
  const name = 'certificate of outputs'
  try {
    createSecureContext({ cert: readFileSync(outputTlsCert), key: readFileSync(outputTlsKey) })
    return [{ name, status: 'ok', message: `${outputTlsCert} and its key can be used` }]
  } catch (error) {
    const advice = 'correct SVC_OUTPUT_TLS_CERT and SVC_OUTPUT_TLS_KEY'
    return [{ name, status: 'failed', message: `cannot be used (${messageOf(error)})`, advice }]
  }
}
