import { access, constants, realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Address } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { chain, type MakeElement, makeElement } from '../gst/element.ts'
import { core } from '../gst/elements.ts'
import { parsebin, tsdemux } from './demuxers.ts'
import { type SourceHost, type SourceKind, UNKNOWN } from './source-kind.ts'

const elements = { filesrc: core() }
const element: MakeElement<keyof typeof elements> = makeElement

/** The path of a file:// address, percent-decoded. Fault unsupported for another host. */
const filePath = (address: Address): string => {
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
const checkFilesAllowed = ({ allowFiles }: SourceHost): void => {
  if (allowFiles === false)
    throw new Fault('permission', 'File sources are disabled on this host. Start the service with SVC_ALLOW_FILE_SOURCES=1 to allow them.')
}

/** Fault permission for a path outside the allowed folder, first by its name alone: the answer must not show whether something exists outside. */
const checkInside = async (path: string, { allowFiles }: SourceHost): Promise<void> => {
  if (typeof allowFiles !== 'string') return
  const folder = await realpath(allowFiles).catch(() => allowFiles)
  const real = await realpath(path).catch(() => undefined)
  const isNamedInside = [allowFiles, folder].some((each) => isInside(resolve(path), each))
  if (!isNamedInside || (real !== undefined && !isInside(real, folder))) {
    throw new Fault('permission', 'The file source is outside the folder that SVC_ALLOW_FILE_SOURCES names. Move the file there.')
  }
}

/** Fault not_found, permission or unsupported when the path does not lead to a readable file. */
const checkFile = async (path: string, host: SourceHost): Promise<void> => {
  await checkInside(path, host)
  try {
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

const FACTS = { ...UNKNOWN, paced: true }

export const file: SourceKind = {
  elements,
  confidential: true,
  probe: async ({ address }, host) => {
    checkFilesAllowed(host)
    await checkFile(filePath(address), host)
    return FACTS
  },
  presume: async ({ address }, host) => {
    checkFilesAllowed(host)
    await checkInside(filePath(address), host)
    return FACTS
  },
  line: ({ address }) => {
    const path = filePath(address)
    // parsebin sometimes loses a KLV track, so files named as MPEG-TS are demuxed without it.
    const demuxer = /\.(?:ts|mts|m2ts)$/i.test(path) ? tsdemux() : parsebin()
    return { tokens: chain(element('filesrc', { location: path }), demuxer), ends: 'tracks', form: 'parsed' }
  },
  reach: ({ address }) => ({ files: [filePath(address)] }),
}
