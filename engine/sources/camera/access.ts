import { access, constants, readFile, stat } from 'node:fs/promises'
import { Fault } from '../../fault.ts'

/** Who may open a device node, by its inode and the text of /etc/group. */
export interface NodeOwner {
  readonly gid: number
  /** st_mode */
  readonly mode: number
  readonly groups: string
}

const GROUP_READ_WRITE = 0o060

/** The fault of a device node that exists and that the service may not open; undefined when it may, or when there is no such node. */
export const accessFault = async (path: string): Promise<Fault | undefined> => {
  try {
    await access(path, constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'EACCES' && code !== 'EPERM') return undefined
  }
  const [node, groups] = await Promise.all([stat(path), readFile('/etc/group', 'utf8').catch(() => '')])
  return forbidden({ gid: node.gid, mode: node.mode, groups })
}

/** Fault permission that names the group to join. */
export const forbidden = ({ gid, mode, groups }: NodeOwner): Fault => {
  const group = groupName(gid, groups)
  const joinable = gid !== 0 && (mode & GROUP_READ_WRITE) === GROUP_READ_WRITE
  return new Fault(
    'permission',
    joinable
      ? `The camera may not be opened: it belongs to the group ${group}. Add the user that runs the service to it (usermod -aG ${group} <user>), then start the service anew.`
      : 'The camera may not be opened: root alone may. Give the device to the group video with a udev rule, and add the user that runs the service to that group.',
  )
}

/** group(5): name, password, gid, members. */
const groupName = (gid: number, groups: string): string => {
  for (const line of groups.split('\n')) {
    const [name = '', , id] = line.split(':')
    if (id === String(gid) && /^[A-Za-z0-9_.-]{1,64}$/.test(name)) return name
  }
  return String(gid)
}
