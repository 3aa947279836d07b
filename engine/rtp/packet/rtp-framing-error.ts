/** What was received as RTP is something else, and cannot be read any further. */
export class RtpFramingError extends Error {
  constructor() {
    super('The media does not come as RTP')
    this.name = 'RtpFramingError'
  }
}
