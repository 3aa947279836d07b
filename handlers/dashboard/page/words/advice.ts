/** What to do about a fault, by the `reason` of its event. */
const ADVICE: Readonly<Record<string, string>> = {
  unreachable: 'Check that the source is switched on, that its address is correct, and that this host can reach it.',
  timeout: 'The source answers but sends no video. Check the source, or increase the start timeout in the settings.',
  stalled: 'No frames arrive any more. Check the network to the source.',
  ended: 'The source closed the stream. Check that it still sends video.',
  crashed: 'Its process crashed and is restarted. The log below may show why.',
  source_error: 'The source answers with an error. Restart it, or check its log.',
  source_flood: 'The source sends more data than a camera does. Check the source, or reduce its frame rate and bitrate.',
  port_in_use: 'Another program uses the port of the output. Choose another port with Edit.',
  output_unavailable: 'This host does not have the address of the output. Check its network, or choose another address with Edit.',
  device_busy: 'Another program or pipeline uses the camera. Stop it there first.',
  device_missing: 'Connect the camera. The pipeline then restarts by itself.',
  not_found: 'The source does not have this path. Check the address.',
  unauthorized: 'Correct user and password in the address with Edit.',
  bad_description: 'Correct the description with Edit.',
  missing_element: 'Install the named package on the host of the engine.',
  unsupported: 'Encode the video (Edit, Video), or choose another format at the source.',
  permission: 'Allow the user of the service to open the device or file.',
  advanced_disabled: 'Allow advanced pipelines in the settings.',
  denied_element: 'Leave the element out with Edit, or remove it from the denied elements in the settings.',
  disk_full: 'Free space on the disk of the service, or lower its limits in the settings.',
  disk_slow: 'Record to a faster disk, or fewer pipelines.',
  recordings_in_use: 'Stop the other service that uses this directory, or give this one another.',
  engine_missing: 'Install GStreamer on the host of the engine.',
}

/** undefined for an unknown reason. */
export const adviceOn = (reason: string | undefined): string | undefined => (reason === undefined ? undefined : ADVICE[reason])
