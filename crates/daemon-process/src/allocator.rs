//! How this process gives memory back.

/// Makes large allocations return to the system as soon as they are freed.
///
/// The allocator of the GNU C library otherwise raises the size from which an allocation is mapped by itself to the largest
/// that was freed, up to 32 MiB, and what is smaller stays in its heaps: a process that handled a few large bodies at a time
/// would keep several times their size. Other C libraries need nothing.
pub fn return_large_allocations() {
    #[cfg(target_env = "gnu")]
    map_large_allocations();
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "no wrapper sets up the allocator")]
fn map_large_allocations() {
    /// Smaller ones are frequent, and mapping takes a system call and a fault for each page.
    const LARGE: libc::c_int = 1024 * 1024;
    // SAFETY: no memory is passed, and the parameter may be set at any time.
    let is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    debug_assert_eq!(is_set, 1, "the limit is within the allocator's bounds");
}
