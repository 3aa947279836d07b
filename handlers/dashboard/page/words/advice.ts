/** What to do about a fault, by its reason as events have it. */
const ADVICE: Readonly<Record<string, string>> = {
  unreachable: 'Check that the source is switched on, that its address is right, and that this host reaches it.',
  timeout: 'The source answers, but no video comes. Check that it sends, or allow a longer start in the settings.',
  stalled: 'Frames stopped coming. Check the network to the source.',
  ended: 'The source closed the stream. Check that it still sends.',
  crashed: 'Its process died and is started again. The log below may say why.',
  source_error: 'The source answers with an error. Restart it, or look into its own log.',
  port_in_use: 'Another program uses the port of the output. Choose another one by Edit.',
  output_unavailable: 'Check the network of this host: the address of the output is not there. Or choose another one by Edit.',
  device_busy: 'Another program or pipeline uses the camera. Stop it there first.',
  device_missing: 'Plug the camera in: it plays again by itself.',
  not_found: 'Check the path of the address: the source does not know it.',
  unauthorized: 'Put the right user and password into the address by Edit.',
  bad_description: 'Correct the description by Edit.',
  missing_element: 'Install the package that is named, on the host of the engine.',
  unsupported: 'Encode the video (Edit, Video), or choose another format at the source.',
  permission: 'Let the user of the service open the device or file.',
  engine_missing: 'Install GStreamer on the host of the engine.',
}

/** undefined for a reason that nothing can be said about. */
export const adviceOn = (reason: string | undefined): string | undefined => (reason === undefined ? undefined : ADVICE[reason])
