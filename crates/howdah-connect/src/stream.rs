//! What the driver reads from and writes to: a socket, or a TLS session on one, whose login is checked and into which
//! pipelined COPYs are put.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use crate::certificate::Certificate;
use crate::injector::{Disposition, ProtocolInjector, Slot};
use crate::listener::Listener;
use crate::login::{Login, LoginRefused, Required};
use crate::socket::Socket;
use crate::startup::{SSL_REQUEST, StartupMessage, StartupSettings};

/// A stream whose login is checked. Afterwards bytes pass untouched, but for pipelined COPYs.
pub(crate) struct InterceptedStream<S> {
    inner: S,
    login: Option<Login>,
    /// The first byte answers the question whether TLS may begin, and is no message.
    first_is_answer: bool,
    /// The message that begins the session, until it is written, where something is added to it.
    startup: Option<StartupMessage>,
    injector: ProtocolInjector,
    listener: Listener,
}

/// Begins one TLS session.
pub(crate) struct Connector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    required: Required,
}

impl InterceptedStream<Socket> {
    pub(crate) fn new(
        inner: Socket,
        required: Required,
        startup: StartupSettings,
        first_is_answer: bool,
        slot: Slot,
        listener: Listener,
    ) -> Self {
        let injector = ProtocolInjector::new(slot);
        let (login, startup) = (Some(Login::new(required)), StartupMessage::with(startup));
        InterceptedStream { inner, login, first_is_answer, startup, injector, listener }
    }

    /// For a socket that carries only a request to cancel, which has no login and no answer.
    pub(crate) fn of_cancellation(inner: Socket) -> Self {
        InterceptedStream {
            inner: inner.left_to_close(),
            login: None,
            first_is_answer: false,
            startup: None,
            injector: ProtocolInjector::default(),
            listener: Listener::default(),
        }
    }
}

impl Connector {
    pub(crate) fn new(mut config: ClientConfig, host: &str) -> Connector {
        let name = ServerName::try_from(host.to_owned()).unwrap_or_else(|_| {
            // A name that DNS does not allow (a socket directory, say) cannot be sent; verification has its own copy.
            config.enable_sni = false;
            ServerName::from(std::net::Ipv4Addr::LOCALHOST)
        });
        Connector { config: Arc::new(config), name, required: Required::default() }
    }

    pub(crate) fn requiring(self, required: Required) -> Connector {
        Connector { required, ..self }
    }
}

type Handshake = Pin<Box<dyn Future<Output = io::Result<InterceptedStream<Session>>> + Send>>;

/// A TLS session on a socket.
pub(crate) type Session = tokio_rustls::client::TlsStream<Socket>;

impl TlsConnect<InterceptedStream<Socket>> for Connector {
    type Stream = InterceptedStream<Session>;
    type Error = io::Error;
    type Future = Handshake;

    fn connect(self, stream: InterceptedStream<Socket>) -> Handshake {
        let has_login = stream.login.is_some();
        Box::pin(async move {
            let connector = tokio_rustls::TlsConnector::from(self.config);
            let inner = connector.connect(self.name, stream.inner).await?;
            let login = has_login.then(|| Login::new(self.required));
            // What was in clear ends here, and so does what was known of its messages.
            let injector = ProtocolInjector::new(stream.injector.slot());
            let listener = Listener::new(stream.listener.said());
            let startup = stream.startup.and_then(|message| StartupMessage::with(message.settings()));
            Ok(InterceptedStream { inner, login, first_is_answer: false, startup, injector, listener })
        })
    }
}

impl TlsStream for InterceptedStream<Session> {
    fn channel_binding(&self) -> ChannelBinding {
        let (_, session) = self.inner.get_ref();
        let binding = session.peer_certificates().and_then(|chain| {
            let der = chain.first()?;
            Certificate::parse(der).ok()?.binding(der)
        });
        binding.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for InterceptedStream<S> {
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
                    Err(reason) => return Poll::Ready(Err(io::Error::other(LoginRefused(reason)))),
                }
            }
            let came = arrived.len();
            this.listener.hear(arrived);
            let kept = this.injector.filter_responses(arrived)?;
            buf.set_filled(start + kept);
            // Nothing at all would mean that the server has closed.
            if start + kept > before || came == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> InterceptedStream<S> {
    /// Writes what goes before the driver's next bytes.
    fn poll_injected(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            self.injector.fill()?;
            let out = &mut self.injector.out;
            if out.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let written = ready!(Pin::new(&mut self.inner).poll_write(cx, out))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            out.advance(written);
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for InterceptedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if buf.is_empty() {
            return Pin::new(&mut this.inner).poll_write(cx, buf);
        }
        if let Some(startup) = this.startup.as_mut().filter(|_| buf != SSL_REQUEST) {
            // It is written when the driver flushes.
            let (taken, message) = startup.take(buf);
            if let Some(message) = message {
                this.injector.out.unsplit(message);
                this.startup = None;
            }
            return Poll::Ready(Ok(taken));
        }
        loop {
            ready!(this.poll_injected(cx))?;
            match this.injector.route(buf) {
                Disposition::Taken(0) => {}
                // What replaces it is written when the driver flushes, together where it is not much.
                Disposition::Taken(taken) => return Poll::Ready(Ok(taken)),
                Disposition::Forward(length) => {
                    let written = ready!(Pin::new(&mut this.inner).poll_write(cx, &buf[..length]))?;
                    this.injector.forwarded(&buf[..written]);
                    return Poll::Ready(Ok(written));
                }
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_injected(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
