import Foundation

#if os(Linux)
    import Glibc
#endif

/// The policy by which the system takes turns between this program's threads.
enum ThreadTurns {
    /// Makes a woken thread wait until the running thread has no more to do, or has had its turn (SCHED_BATCH of
    /// sched(7)). By default the woken thread would take the running thread's processor away.
    ///
    /// Each request passes from thread to thread. With this policy a thread does its kind of work for many requests
    /// before the next thread runs, and finds its code still in the processor's caches. On an idle processor nothing
    /// changes. A new thread inherits the policy of its maker.
    static func takeWhole() {
        #if os(Linux)
            // The headers have the policy's name for programs in C alone.
            let batch: CInt = 3
            var none = sched_param()
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            // If a system does not have the policy, or does not allow the choice, everything goes on as before. So it
            // does if an operator has chosen another policy.
            for task in tasks.compactMap(pid_t.init) where sched_getscheduler(task) == 0 {
                sched_setscheduler(task, batch, &none)
            }
        #endif
    }
}
