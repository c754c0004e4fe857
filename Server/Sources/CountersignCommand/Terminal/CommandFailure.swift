/// Why a command ends without having done what it was asked: what is wrong, what to do about it, and the exit code.
struct CommandFailure: Error, CustomStringConvertible {
    /// The exit codes of every command.
    enum Status: Int32 {
        case failed = 1
        case usage = 2
        case notFound = 3
        case lockedOut = 4
        case unreachable = 5
        /// What was to be judged could not be read: nothing is known of it.
        case noVerdict = 6
    }

    let status: Status
    let problem: String
    /// What the reader can do.
    let remedy: String?

    init(_ status: Status, _ problem: String, remedy: String? = nil) {
        self.status = status
        self.problem = problem
        self.remedy = remedy
    }

    var description: String { "Error: \(self.problem)" + (self.remedy.map { "\n  \($0)" } ?? "") }
}
