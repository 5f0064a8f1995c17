//! What the driver reads from and writes to: a socket or a TLS session on one, with the login read along.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use super::certificate::Certificate;
use super::login::{Login, Required};

/// A socket to a server.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A stream whose login is watched; afterwards bytes pass untouched.
pub(super) struct Watched<S> {
    inner: S,
    login: Option<Login>,
    /// The first byte answers the question whether TLS may begin, and is no message.
    first_is_answer: bool,
}

/// Begins one TLS session.
pub(super) struct Connector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    required: Required,
}

impl Watched<Socket> {
    pub(super) fn new(inner: Socket, required: Required, first_is_answer: bool) -> Self {
        Watched { inner, login: Some(Login::new(required)), first_is_answer }
    }

    /// For a socket on which nobody logs in.
    pub(super) fn unwatched(inner: Socket) -> Self {
        Watched { inner, login: None, first_is_answer: false }
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
            Ok(Watched { inner, login, first_is_answer: false })
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
        let polled = Pin::new(&mut this.inner).poll_read(cx, buf);
        if let (Poll::Ready(Ok(())), Some(login)) = (&polled, &mut this.login) {
            let mut arrived = &buf.filled()[before..];
            if this.first_is_answer && !arrived.is_empty() {
                this.first_is_answer = false;
                arrived = &arrived[1..];
            }
            match login.feed(arrived) {
                Ok(()) if login.is_over() => this.login = None,
                Ok(()) => {}
                Err(reason) => return Poll::Ready(Err(io::Error::other(reason))),
            }
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
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
