import { devicePathOf, isFromV4l2 } from './device-node.ts'
import type { ListedDevice } from './monitor-output.ts'

const MAX_DEVICES = 256

/** The devices the monitor told of, kept as they came: also those that are no cameras, since a removal tells only a name. */
export class Inventory {
  #devices: readonly ListedDevice[] = []
  /** Name → removals that could not be told apart. */
  readonly #departed = new Map<string, number>()

  get devices(): readonly ListedDevice[] {
    return this.#devices
  }

  /** Adds a device, or renews a known one; true when it is new. */
  add(device: ListedDevice): boolean {
    const known = this.#devices.find((other) => sameDevice(other, device))
    const renewed = known === undefined ? device : complete(device, known)
    this.#devices = [...this.#devices.filter((other) => other !== known), renewed].slice(-MAX_DEVICES)
    return known === undefined
  }

  /**
   * Takes note that a device of this name went away. With several nodes of one name it is known which ones went when
   * all did; until then the inventory is unresolved. False when no device has the name.
   */
  remove(name: string): boolean {
    const named = this.#devices.filter((device) => device.name === name)
    const [first] = named
    if (first === undefined) return false
    const departed = (this.#departed.get(name) ?? 0) + 1
    const sameNode = new Set(named.map(devicePathOf)).size === 1
    if (sameNode) this.#devices = this.#devices.filter((device) => device !== first)
    else if (departed < named.length) this.#departed.set(name, departed)
    else {
      this.#devices = this.#devices.filter((device) => device.name !== name)
      this.#departed.delete(name)
    }
    return true
  }

  /** Whether some nodes of one name went away and others stayed: only a new list tells which. */
  get unresolved(): boolean {
    return this.#departed.size > 0
  }

  /** Takes over a complete list. */
  replace(listed: readonly ListedDevice[]): void {
    const before = this.#devices
    this.#devices = []
    this.#departed.clear()
    for (const device of listed) {
      const known = before.find((other) => sameDevice(other, device))
      this.add(known === undefined ? device : complete(device, known))
    }
  }

  /** The same devices, with what another inventory knows of them besides. */
  completedFrom(other: Inventory): Inventory {
    const completed = new Inventory()
    completed.#devices = other.#devices
    completed.replace(this.#devices)
    return completed
  }
}

/** A camera in use may hide its formats, and v4l2-ctl may have been asked for properties: what is known stays known. */
const complete = (device: ListedDevice, known: ListedDevice): ListedDevice => ({
  name: device.name,
  caps: device.caps.length > 0 ? device.caps : known.caps,
  properties: new Map([...known.properties, ...device.properties]),
})

const sameDevice = (a: ListedDevice, b: ListedDevice): boolean =>
  a.name === b.name && devicePathOf(a) === devicePathOf(b) && isFromV4l2(a) === isFromV4l2(b)
