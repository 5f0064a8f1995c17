//! What the driver reads from and writes to: a socket or a TLS session on one, with the login read along, and messages of
//! ours among the driver's.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use super::certificate::Certificate;
use super::login::{Login, Required};
use super::splice::{Slot, Splicer};

/// A socket to a server.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A stream whose login is watched; afterwards bytes pass untouched, but for splices.
pub(super) struct Watched<S> {
    inner: S,
    login: Option<Login>,
    /// The first byte answers the question whether TLS may begin, and is no message.
    first_is_answer: bool,
    splicer: Splicer,
}

/// Begins one TLS session.
pub(super) struct Connector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    required: Required,
}

impl Watched<Socket> {
    pub(super) fn new(inner: Socket, required: Required, first_is_answer: bool, slot: Slot) -> Self {
        Watched { inner, login: Some(Login::new(required)), first_is_answer, splicer: Splicer::new(slot) }
    }

    /// For a socket on which nobody logs in.
    pub(super) fn unwatched(inner: Socket) -> Self {
        Watched { inner, login: None, first_is_answer: false, splicer: Splicer::default() }
    }
}

impl Connector {
    pub(super) fn new(mut config: ClientConfig, host: &str) -> Connector {
        let name = ServerName::try_from(host.to_owned()).unwrap_or_else(|_| {
            // A name that DNS does not allow (a socket directory, say) cannot be sent; verification has its own copy.
            config.enable_sni = false;
            ServerName::from(std::net::Ipv4Addr::LOCALHOST)
        });
        Connector { config: Arc::new(config), name, required: Required::default() }
    }

    pub(super) fn requiring(self, required: Required) -> Connector {
        Connector { required, ..self }
    }
}

type Handshake = Pin<Box<dyn Future<Output = io::Result<Watched<Session>>> + Send>>;

/// A TLS session on a socket.
pub(super) type Session = tokio_rustls::client::TlsStream<Socket>;

impl TlsConnect<Watched<Socket>> for Connector {
    type Stream = Watched<Session>;
    type Error = io::Error;
    type Future = Handshake;

    fn connect(self, stream: Watched<Socket>) -> Handshake {
        let watches = stream.login.is_some();
        Box::pin(async move {
            let connector = tokio_rustls::TlsConnector::from(self.config);
            let inner = connector.connect(self.name, stream.inner).await?;
            let login = watches.then(|| Login::new(self.required));
            // What was in clear ends here, and so does what was known of its messages.
            let splicer = Splicer::new(stream.splicer.slot());
            Ok(Watched { inner, login, first_is_answer: false, splicer })
        })
    }
}

impl TlsStream for Watched<Session> {
    fn channel_binding(&self) -> ChannelBinding {
        let (_, session) = self.inner.get_ref();
        let binding = session.peer_certificates().and_then(|chain| {
            let der = chain.first()?;
            Certificate::parse(der).ok()?.binding(der)
        });
        binding.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        loop {
            ready!(Pin::new(&mut this.inner).poll_read(cx, buf))?;
            let mut start = before;
            if this.first_is_answer && buf.filled().len() > start {
                this.first_is_answer = false;
                start += 1;
            }
            let arrived = &mut buf.filled_mut()[start..];
            if let Some(login) = &mut this.login {
                match login.feed(arrived) {
                    Ok(()) if login.is_over() => this.login = None,
                    Ok(()) => {}
                    Err(reason) => return Poll::Ready(Err(io::Error::other(reason))),
                }
            }
            let (came, kept) = (arrived.len(), this.splicer.sift(arrived));
            if this.splicer.is_out_of_step() {
                return Poll::Ready(Err(io::Error::other("the server took no rows")));
            }
            buf.set_filled(start + kept);
            // Nothing at all would mean that the server has closed.
            if start + kept > before || came == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> Watched<S> {
    /// Writes what was taken in.
    fn poll_write_taken(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let out = &mut self.splicer.out;
        while !out.is_empty() {
            let written = ready!(Pin::new(&mut self.inner).poll_write(cx, out))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            out.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        loop {
            if this.splicer.is_full() {
                ready!(this.poll_write_taken(cx))?;
            }
            match this.splicer.take(buf) {
                None => return Pin::new(&mut this.inner).poll_write(cx, buf),
                Some(0) => {}
                Some(taken) => return Poll::Ready(Ok(taken)),
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_taken(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Socket::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut *self {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Socket::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Socket::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Socket::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
