import { devicePathOf, isFromV4l2 } from './device-node.ts'
import type { ListedDevice } from './monitor-output.ts'

const MAX_DEVICES = 256

/** All devices that the monitor reported, including those that are not cameras: the report of a removal contains only a name. */
export class Inventory {
  #devices: readonly ListedDevice[] = []
  /** Name → number of removals that could not be matched to a device. */
  readonly #unmatched = new Map<string, number>()

  get devices(): readonly ListedDevice[] {
    return this.#devices
  }

  /** Adds a device, or updates a known one; true when it is new. */
  add(device: ListedDevice): boolean {
    const known = this.#devices.find((other) => sameDevice(other, device))
    const updated = known === undefined ? device : complete(device, known)
    this.#devices = [...this.#devices.filter((other) => other !== known), updated].slice(-MAX_DEVICES)
    return known === undefined
  }

  /**
   * Removes a device by its name. While only some of several nodes with one name were removed, all of them stay and the
   * inventory is unresolved. False when no device has the name.
   */
  remove(name: string): boolean {
    const named = this.#devices.filter((device) => device.name === name)
    const [first] = named
    if (first === undefined) return false
    const removals = (this.#unmatched.get(name) ?? 0) + 1
    const sameNode = new Set(named.map(devicePathOf)).size === 1
    if (sameNode) this.#devices = this.#devices.filter((device) => device !== first)
    else if (removals < named.length) this.#unmatched.set(name, removals)
    else {
      this.#devices = this.#devices.filter((device) => device.name !== name)
      this.#unmatched.delete(name)
    }
    return true
  }

  /** Whether some of several nodes with one name were removed: a new enumeration finds out which. */
  get unresolved(): boolean {
    return this.#unmatched.size > 0
  }

  /** Replaces all devices by a complete list. */
  replace(listed: readonly ListedDevice[]): void {
    const before = this.#devices
    this.#devices = []
    this.#unmatched.clear()
    for (const device of listed) {
      const known = before.find((other) => sameDevice(other, device))
      this.add(known === undefined ? device : complete(device, known))
    }
  }

  /** The same devices, with the additional properties and caps that another inventory has of them. */
  completedFrom(other: Inventory): Inventory {
    const completed = new Inventory()
    completed.#devices = other.#devices
    completed.replace(this.#devices)
    return completed
  }
}

/** A camera in use may hide its formats, and some properties come from v4l2-ctl: known values are kept. */
const complete = (device: ListedDevice, known: ListedDevice): ListedDevice => ({
  name: device.name,
  caps: device.caps.length > 0 ? device.caps : known.caps,
  properties: new Map([...known.properties, ...device.properties]),
})

const sameDevice = (a: ListedDevice, b: ListedDevice): boolean =>
  a.name === b.name && devicePathOf(a) === devicePathOf(b) && isFromV4l2(a) === isFromV4l2(b)
