import { describe, expect, it } from 'vitest'
import { CameraTrack } from '../../../../engine/screenshots/camera-track.ts'

const at = (longitude: number) => ({ latitude: 48, longitude, altitude: null, heading: null })

describe('the track of a camera', () => {
  it('has the position of the moment of a picture, not the newest one', () => {
    const track = new CameraTrack()
    for (const second of [1, 2, 3]) track.add(at(second), second * 1000)
    expect([900, 1400, 1600, 2000, 9000].map((mediaMs) => track.at(mediaMs)?.longitude)).toEqual([1, 1, 2, 2, 3])
  })

  it('has the last of several positions of one moment, and none is too late for it', () => {
    const track = new CameraTrack()
    for (const longitude of [1, 2]) track.add(at(longitude), 1000)
    track.add(at(3), 900)
    expect([track.at(1000)?.longitude, track.at(900)?.longitude]).toEqual([2, 3])
  })

  it('has the position set by hand until another one is added', () => {
    const track = new CameraTrack()
    expect(track.at(0)).toBeNull()
    track.add(at(1), 1000)
    track.set(at(2))
    expect(track.at(1000)).toEqual(at(2))
    track.add(at(3), 2000)
    expect(track.at(1000)).toEqual(at(3))
    track.set(null)
    expect(track.at(2000)).toBeNull()
  })

  it('forgets positions of long ago, and keeps the last one', () => {
    const track = new CameraTrack()
    for (let second = 0; second < 60; second += 1) track.add(at(second), second * 1000)
    expect(track.at(0)?.longitude).toBe(49)
    track.add(at(70), 1_000_000)
    for (let more = 0; more < 2000; more += 1) track.add(at(71), 1_000_000)
    expect(track.at(0)?.longitude).toBe(71)
  })
})
