import type { Source } from '../../lib/schema/pipeline.ts'
import { parseAddress } from '../faults/address.ts'
import type { Reach } from '../sandbox/sandbox.ts'
import { parseCameraAddress } from './camera/address.ts'
import type { SourceFacts } from './facts.ts'
import { filePath } from './file.ts'

/** What a child may reach to read a source: the network, its camera, or its file. */
export const sourceReach = ({ uri }: Source, { kind, camera }: SourceFacts): Required<Reach> => ({
  network: kind !== 'test' && kind !== 'file' && kind !== 'v4l2',
  devices: kind === 'v4l2' ? [camera?.device_path ?? parseCameraAddress(uri).device_path] : [],
  files: kind === 'file' ? [filePath(parseAddress(uri))] : [],
  localSockets: true,
})
