//! Word from the system that a followed file has grown or that names in its directory have changed.

use std::path::Path;
use std::time::Duration;

use super::trace::FileMark;
#[cfg(target_os = "linux")]
use super::waiting::Told;
use super::waiting::Waiting;

/// How often the end of the file is looked at where nobody tells that it has grown: seldom enough to cost nothing, often enough that
/// nobody waits for it.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How often it is looked at all the same, to find out whether one is told: of files of other machines one is not.
#[cfg(target_os = "linux")]
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// Tells of one directory and one file in it.
pub(super) struct GrowthWatch {
    #[cfg(target_os = "linux")]
    words: Option<Words>,
}

#[cfg(target_os = "linux")]
struct Words {
    inotify: nix::sys::inotify::Inotify,
    told: Told,
    file: Option<((u64, u64), nix::sys::inotify::WatchDescriptor)>,
}

#[cfg(target_os = "linux")]
impl GrowthWatch {
    /// About what happens in `directory`.
    pub(super) fn new(waiting: &Waiting, directory: &Path) -> GrowthWatch {
        use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
        let words = || {
            let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok()?;
            let names = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVE | AddWatchFlags::IN_DELETE;
            inotify.add_watch(directory, names).ok()?;
            Some(Words { told: waiting.listen(&inotify)?, inotify, file: None })
        };
        GrowthWatch { words: words() }
    }

    /// Returns when something has happened to the file or the names, when the waiting is interrupted, or when it is time to look in
    /// any case. Whether what is found then would have been told, so that it is no wonder.
    pub(super) fn wait(&mut self, waiting: &Waiting, file: Option<&FileMark>, is_urgent: bool) -> bool {
        use nix::sys::inotify::AddWatchFlags;
        use std::os::fd::AsRawFd;
        let Some(Words { inotify, told, file: watched }) = &mut self.words else {
            let _ = waiting.wait(None, Some(LOOK_EVERY));
            return true;
        };
        if watched.as_ref().map(|(identity, _)| *identity) != file.map(FileMark::identity) {
            if let Some((_, old)) = watched.take() {
                // It may have ended with its file.
                let _ = inotify.rm_watch(old);
            }
            if let Some(file) = file {
                // By what is open: the name may be another's by now.
                let path = format!("/proc/self/fd/{}", file.file().as_raw_fd());
                let watch = inotify.add_watch(&*path, AddWatchFlags::IN_MODIFY);
                *watched = watch.ok().map(|watch| (file.identity(), watch));
                // What came before it was watched is looked for first.
                return true;
            }
        }
        let is_watched = file.is_none() || watched.is_some();
        let patience = if is_urgent || !is_watched { LOOK_EVERY } else { CHECK_EVERY };
        let is_told = waiting.wait(Some(told), Some(patience)).unwrap_or(false);
        if is_told {
            while inotify.read_events().is_ok_and(|events| !events.is_empty()) {}
        }
        is_told || patience < CHECK_EVERY
    }

    /// Something came of which no word came before: from here on one looks.
    pub(super) fn is_silent(&mut self) {
        self.words = None;
    }
}

#[cfg(not(target_os = "linux"))]
impl GrowthWatch {
    pub(super) fn new(_: &Waiting, _: &Path) -> GrowthWatch {
        GrowthWatch {}
    }

    pub(super) fn wait(&mut self, waiting: &Waiting, _: Option<&FileMark>, _: bool) -> bool {
        let _ = waiting.wait(None, Some(LOOK_EVERY));
        true
    }

    pub(super) fn is_silent(&mut self) {}
}
