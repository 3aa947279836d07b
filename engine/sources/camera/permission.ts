import { Fault } from '../../faults/fault.ts'

/** Owner group and mode of a device node, and the text of /etc/group. */
interface NodeOwner {
  readonly gid: number
  /** st_mode */
  readonly mode: number
  readonly groups: string
}

const GROUP_READ_WRITE = 0o060

/** Fault permission that names the group to join. */
export const noPermission = ({ gid, mode, groups }: NodeOwner): Fault => {
  const group = groupName(gid, groups)
  const joinable = gid !== 0 && (mode & GROUP_READ_WRITE) === GROUP_READ_WRITE
  return new Fault(
    'permission',
    joinable
      ? `The service has no permission to open the camera, which belongs to the group ${group}. Add the user of the service to that group (usermod -aG ${group} <user>), then restart the service.`
      : 'Only root has permission to open the camera. Give the device to the group video with a udev rule, add the user of the service to that group, then restart the service.',
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
