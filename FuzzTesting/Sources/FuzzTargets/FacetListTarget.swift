import Synchronization
import UAF
import UAFClient
import _Primitives

/// The list of trusted facets that an AppID's address serves (uaf-sections §7.2).
enum FacetListTarget {
    private static let facet = "linux:program:fuzz"

    /// Returns `false` if a trusted facet is not in the list.
    static func holds(_ bytes: [UInt8]) -> Bool {
        guard let facetID = try? FacetID(Self.facet) else { return false }
        let authorization = FacetAuthorization(facetID: facetID) { _ in
            FacetListAnswer(status: 200, contentType: "application/fido.trusted-apps+json", body: bytes)
        }
        let outcome = Outcome()
        // Nothing waits, so the task ends immediately after its beginning.
        withExtendedLifetime(InlineExecutor()) { executor in
            _ = Task(executorPreference: executor) {
                let appID = try? await authorization.authorize(
                    appID: "https://app.example.com/facets", version: .uaf11)
                outcome.isTrusted.withLock { $0 = appID != nil }
            }
        }
        guard let isTrusted = outcome.isTrusted.withLock({ $0 }) else { return false }
        return !isTrusted || (try? JSON(parsing: bytes))?.text.contains(Self.facet) == true
    }
}

private final class Outcome: Sendable {
    let isTrusted = Mutex<Bool?>(nil)
}

/// Runs a task's jobs at once, on the calling thread.
private final class InlineExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        UnownedJob(job).runSynchronously(on: self.asUnownedTaskExecutor())
    }
}
