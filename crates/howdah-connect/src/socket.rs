//! A socket to a server, of either family, that counts what passes.
//!
//! A server that ends a session says why, and closes; whoever is writing then finds the socket closed before he has read that.
//! So what cannot be written any more is dropped, and the end is met by reading, behind the server's words.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::traffic::Traffic;

/// A socket to a server.
pub(crate) struct Socket {
    pub(crate) family: Family,
    traffic: Traffic,
    /// Nobody takes what is written.
    is_closed: bool,
    /// The other side closes it.
    is_left_to_close: bool,
}

pub(crate) enum Family {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub(crate) fn tcp(stream: TcpStream) -> Socket {
        let is_v6 = stream.local_addr().is_ok_and(|address| address.is_ipv6());
        let traffic = Traffic::of_tcp(&stream, is_v6);
        Socket { family: Family::Tcp(stream), traffic, is_closed: false, is_left_to_close: false }
    }

    pub(crate) fn unix(stream: UnixStream) -> Socket {
        Socket {
            family: Family::Unix(stream),
            traffic: Traffic::default(),
            is_closed: false,
            is_left_to_close: false,
        }
    }

    /// A shutdown waits until the other side has closed, as libpq does behind a request to cancel: there are poolers that die
    /// of a client which is gone before they have passed its request on.
    pub(crate) fn left_to_close(mut self) -> Socket {
        self.is_left_to_close = true;
        self
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic.clone()
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = match &mut self.family {
            Family::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Family::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        self.traffic.read(buf.filled().len() - before);
        polled
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_closed {
            return Poll::Ready(Ok(buf.len()));
        }
        let polled = match &mut self.family {
            Family::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Family::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        if let Poll::Ready(Err(error)) = &polled
            && matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
        {
            self.is_closed = true;
            return Poll::Ready(Ok(buf.len()));
        }
        if let Poll::Ready(Ok(written)) = polled {
            self.traffic.wrote(written);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.family {
            Family::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Family::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.is_left_to_close {
            let mut ignored = [0; 64];
            let mut buf = ReadBuf::new(&mut ignored);
            match ready!(self.as_mut().poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {}
                Ok(()) | Err(_) => self.is_left_to_close = false,
            }
        }
        match &mut self.family {
            Family::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Family::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
