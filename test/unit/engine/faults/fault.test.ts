import { describe, expect, it } from 'vitest'
import { Fault, faultCode, faultToApiError } from '../../../../engine/faults/fault.ts'

describe('the code of a fault', () => {
  it.each([
    ['unreachable', false, 'PIPELINE_START_TIMEOUT'],
    ['timeout', false, 'PIPELINE_START_TIMEOUT'],
    ['unreachable', true, 'ENGINE_ERROR'],
    ['stalled', true, 'ENGINE_ERROR'],
    ['ended', false, 'ENGINE_ERROR'],
    ['crashed', false, 'ENGINE_ERROR'],
    ['device_busy', false, 'ENGINE_ERROR'],
    ['missing_element', false, 'ENGINE_ERROR'],
    ['engine_missing', false, 'SERVICE_UNAVAILABLE'],
    ['port_in_use', true, 'SERVICE_UNAVAILABLE'],
  ] as const)('%s, after media: %s, is %s', (reason, hadMedia, code) => {
    expect(faultCode(new Fault(reason, 'because'), hadMedia)).toBe(code)
  })
})

it.each([
  ['unreachable', 504, 'The pipeline did not start in time. because'],
  ['not_found', 500, 'The pipeline could not start. because'],
  ['port_in_use', 503, 'because'],
] as const)('a start that failed: %s', (reason, status, message) => {
  expect(faultToApiError(new Fault(reason, 'because'))).toMatchObject({ status, message, details: { cause: 'because', reason } })
})
