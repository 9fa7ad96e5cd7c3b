//! The client certificate of a connection, which the TLS server hands to authentication.

use bytes::Bytes;

/// The certificate that the client showed, in DER.
/// The transport has made sure that an authority of the server signed it. A request has it in its extensions, if the
/// client showed a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate(pub Bytes);
