//! A file system that is soon full.

use std::path::Path;
use std::process::{Command, Stdio};

/// A small file system in memory, gone with its value.
pub struct TinyDisk(String);

impl TinyDisk {
    /// Mounts one of `mebibytes` at `path`, which does not exist yet, for the owner of `owned_like`. `None` where nothing
    /// can be mounted, since we are not root or are kept from it.
    pub fn mount(path: &str, mebibytes: u32, owned_like: &str) -> Option<TinyDisk> {
        std::fs::create_dir(path).unwrap();
        // The server may run under another account than ours.
        let parent = Path::new(path).parent().unwrap();
        std::fs::set_permissions(parent, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let options = format!("size={mebibytes}m,mode=777");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs", path]).stderr(Stdio::null());
        let mounted =
            mount.status().is_ok_and(|status| status.success()).then(|| TinyDisk(path.to_owned()))?;
        let owned = Command::new("chown").args(["--reference", owned_like, path]).status();
        assert!(owned.unwrap().success());
        Some(mounted)
    }

    /// Returns the path where it is mounted.
    pub fn path(&self) -> &str {
        &self.0
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        // Lazily: the server has files open in it.
        let _ = Command::new("umount").args(["-l", &self.0]).status();
    }
}
