//! The client certificate of a connection, which the TLS server hands to authentication.

use bytes::Bytes;

/// The certificate that the client showed, in DER.
/// The transport has made sure that an authority that the server trusts signed the certificate. A request has the
/// certificate in its extensions, if the client showed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate(pub Bytes);
