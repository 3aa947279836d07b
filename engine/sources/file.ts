import { access, constants, realpath, stat } from 'node:fs/promises'
import type { Address } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'

/** The path of a file:// address, percent-decoded. Fault unsupported for another host. */
export const filePath = (address: Address): string => {
  if (address.host !== '' && address.host !== 'localhost') {
    throw new Fault('unsupported', 'A file source must be on this host. Use file:///path')
  }
  const [path = '/'] = address.path.split('?')
  try {
    const decoded = decodeURIComponent(path)
    if (!/[\0\r\n]/.test(decoded)) return decoded
  } catch {
    // Malformed percent-encoding: refused below.
  }
  throw new Fault('unsupported', 'The path of the file source is malformed. Percent-encode it, without line breaks.')
}

/** Fault permission on a host without file sources. */
export const checkFilesAllowed = (allowed: boolean | string): void => {
  if (allowed === false)
    throw new Fault('permission', 'File sources are disabled on this host. Start the service with SVC_ALLOW_FILE_SOURCES=1 to allow them.')
}

/** Fault not_found, permission or unsupported when the address does not lead to a readable file. */
export const checkFile = async (address: Address, allowed: boolean | string): Promise<void> => {
  const path = filePath(address)
  try {
    if (typeof allowed === 'string' && !isInside(await realpath(path), await realpath(allowed))) {
      throw new Fault('permission', 'The file source is outside the folder that SVC_ALLOW_FILE_SOURCES names. Move the file there.')
    }
    if (!(await stat(path)).isFile()) throw new Fault('unsupported', 'The file source is not a regular file. Use the path of a file.')
    await access(path, constants.R_OK)
  } catch (error) {
    if (error instanceof Fault) throw error
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'EACCES') {
      throw new Fault('permission', 'The service has no permission to read the file source. Change the permissions of the file.')
    }
    throw new Fault('not_found', 'The file source does not exist. Check its path.')
  }
}

const isInside = (path: string, folder: string): boolean => path.startsWith(`${folder}/`)
