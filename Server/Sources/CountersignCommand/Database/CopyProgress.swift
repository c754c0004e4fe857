import Foundation
import Settings

/// Reports the progress of a long copy on a terminal, by the size of the file that the copy writes.
struct CopyProgress: Sendable {
    private let title: String
    private let folder: String
    private let isCopy: @Sendable (String) -> Bool

    /// Creates a progress report. The copy is the file of `folder` for whose name `isCopy` returns `true`.
    init(_ title: String, folder: String, isCopy: @escaping @Sendable (String) -> Bool) {
        self.title = title
        self.folder = folder
        self.isCopy = isCopy
    }

    /// Does the work on a thread of its own, and reports the progress meanwhile if a person reads the terminal.
    func during<Result: Sendable>(
        expected: Int64, _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        let reports = isatty(2) == 1 ? Task { await self.report(expected) } : nil
        defer { reports?.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Swift.Result { try work() }) }.start()
        }
    }

    private func report(_ expected: Int64) async {
        while (try? await Task.sleep(for: Limits.Commands.progressPause)) != nil {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: self.folder)) ?? []
            guard let name = names.first(where: self.isCopy), expected > 0,
                let size = try? FileManager.default.attributesOfItem(atPath: "\(self.folder)/\(name)")[.size] as? Int64
            else { continue }
            Terminal.standardError("\(self.title): \(min(100, size * 100 / expected)) %")
        }
    }
}
