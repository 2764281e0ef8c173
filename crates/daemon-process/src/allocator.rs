//! Settings of the allocator by which memory is returned to the system.

/// Makes the allocator return freed memory to the system.
///
/// Only the GNU C library needs this. Without it, the size above which an allocation is mapped separately grows to the largest
/// size freed so far, up to 32 MiB: a process that handled a few large bodies at a time would keep several times their size.
/// It would also create up to eight heaps per processor, none of which returns gaps between used blocks: a host that had read
/// many repositories on a pool of threads used half as much memory again as it needed.
pub fn limit_kept_memory() {
    #[cfg(target_env = "gnu")]
    set_up_allocator();
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "no wrapper sets up the allocator")]
fn set_up_allocator() {
    /// Smaller ones are frequent, and mapping takes a system call and a fault for each page.
    const LARGE: libc::c_int = 1024 * 1024;
    // Small allocations are served from per-thread caches, so threads seldom wait for a heap.
    const HEAPS: libc::c_int = 2;
    for (parameter, value) in [(libc::M_MMAP_THRESHOLD, LARGE), (libc::M_ARENA_MAX, HEAPS)] {
        // SAFETY: no memory is passed, and the parameters may be set at any time.
        let is_set = unsafe { libc::mallopt(parameter, value) };
        debug_assert_eq!(is_set, 1, "the value is within the allocator's bounds");
    }
}

/// Returns freed memory from the allocator to the system. Allocations wait meanwhile, some milliseconds in a process of hundreds
/// of megabytes.
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    trim();
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "no wrapper trims the allocator's heaps")]
fn trim() {
    // SAFETY: the call returns only pages without allocations.
    unsafe { libc::malloc_trim(0) };
}
