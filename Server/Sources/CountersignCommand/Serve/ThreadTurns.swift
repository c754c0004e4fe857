import Foundation

#if os(Linux)
    import Glibc
#endif

/// How the system takes turns between this program's threads.
enum ThreadTurns {
    /// Lets a thread that is woken wait until the one that runs has no more to do, or has had its turn (SCHED_BATCH of
    /// sched(7)), in the place of taking its processor away.
    ///
    /// A request is passed on from thread to thread. With this each of them does what there is of one kind for many requests
    /// before the next one is run, and finds its code still in the processor's caches. Where a processor is idle nothing
    /// changes. Threads that are made later do as the one that makes them.
    static func takeWhole() {
        #if os(Linux)
            // The headers have its name for programs in C alone.
            let batch: CInt = 3
            var none = sched_param()
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            // Where a system does not have it, or does not let it be chosen, all goes on as before.
            // So it does where an operator has chosen another policy.
            for task in tasks.compactMap(pid_t.init) where sched_getscheduler(task) == 0 {
                sched_setscheduler(task, batch, &none)
            }
        #endif
    }
}
