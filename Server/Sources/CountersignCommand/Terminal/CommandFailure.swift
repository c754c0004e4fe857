/// The reason why a command ends without its task: the problem, the remedy, and the exit code.
struct CommandFailure: Error, CustomStringConvertible {
    /// The exit codes of every command.
    enum Status: Int32 {
        case failed = 1
        case usage = 2
        case notFound = 3
        case lockedOut = 4
        case unreachable = 5
        /// The object of the judgement could not be read: the command knows nothing about the object.
        case noVerdict = 6
    }

    let status: Status
    let problem: String
    /// The reader's remedy.
    let remedy: String?

    init(_ status: Status, _ problem: String, remedy: String? = nil) {
        self.status = status
        self.problem = problem
        self.remedy = remedy
    }

    var description: String { "Error: \(self.problem)" + (self.remedy.map { "\n  \($0)" } ?? "") }
}
