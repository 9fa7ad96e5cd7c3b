//! Who is at the other end of a connection, as the transport knows it: what a server of sockets tells the request path.

use bytes::Bytes;

/// The certificate that the client showed, in DER. The transport has made sure that the server's authority signed it.
/// It is in the extensions of a request; there is none in a request that came without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate(pub Bytes);
