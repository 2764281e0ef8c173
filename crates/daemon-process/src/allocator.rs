//! How this process gives memory back.

/// Makes the allocator return freed memory to the system.
///
/// Other C libraries than the GNU one need nothing. That one would raise the size from which an allocation is mapped by
/// itself to the largest that was freed, up to 32 MiB: a process that handled a few large bodies at a time would keep
/// several times their size. It would also open up to eight heaps for each processor, one for each thread that starts, and
/// none of them gives back the gaps between what is still used: after reading many repositories on a pool of threads a host
/// held half as much again as it used.
pub fn limit_kept_memory() {
    #[cfg(target_env = "gnu")]
    set_up_allocator();
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "no wrapper sets up the allocator")]
fn set_up_allocator() {
    /// Smaller ones are frequent, and mapping takes a system call and a fault for each page.
    const LARGE: libc::c_int = 1024 * 1024;
    /// Small allocations come from caches of each thread, so that few wait for a heap.
    const HEAPS: libc::c_int = 2;
    for (parameter, value) in [(libc::M_MMAP_THRESHOLD, LARGE), (libc::M_ARENA_MAX, HEAPS)] {
        // SAFETY: no memory is passed, and the parameters may be set at any time.
        let is_set = unsafe { libc::mallopt(parameter, value) };
        debug_assert_eq!(is_set, 1, "the value is within the allocator's bounds");
    }
}

/// Returns to the system what the allocator keeps of freed memory. Allocations wait for it, some milliseconds in a process
/// of hundreds of megabytes.
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    trim();
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "no wrapper trims the allocator's heaps")]
fn trim() {
    // SAFETY: it only gives back pages that hold no allocation.
    unsafe { libc::malloc_trim(0) };
}
