/** What is wrong with a receiver; the same words for every way of sending. */

export const UNAUTHORIZED = 'The receiver requires a user name and password, or rejects those of the push. Correct its uri.'
export const FORBIDDEN = 'The receiver does not allow this user to publish (403).'
export const NOT_FOUND = 'The receiver takes no stream at this path (404). Check the path of the push.'
export const REFUSED = 'The receiver refuses the connection: nothing listens at its address and port.'
export const NO_ADDRESS = 'The host name of the receiver has no address. Check the uri of the push and the name server.'
export const NO_ROUTE = 'There is no route to the host of the receiver. Check the network.'
export const TLS_FAILED =
  'The TLS connection to the receiver failed. Check its certificate and port; add its certificate authority to this host.'
export const UNANSWERED = 'The receiver stopped answering.'
export const LOST = 'The connection to the receiver was lost.'
