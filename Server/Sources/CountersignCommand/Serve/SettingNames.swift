import Configuration
import Synchronization

/// The check of the names that a file and the environment have. So the server refuses a misspelt name, and does not
/// ignore the name.
final class SettingNames: AccessReporter {
    private struct State {
        var unreadable: Set<String> = []
        var inFile: Set<String> = []
    }

    private let known: Set<String>
    private let state = Mutex(State())

    /// Variables with the same beginning that are for other commands.
    private static let otherVariables: Set<String> = ["COUNTERSIGN_ADMIN_URL", "COUNTERSIGN_ADMIN_TOKEN"]
    /// The variables that an orchestrator gives every container of a service called `countersign`.
    private static let serviceLinks = ["COUNTERSIGN_PORT", "COUNTERSIGN_SERVICE_HOST", "COUNTERSIGN_SERVICE_PORT"]

    /// Creates the check for the names of all settings.
    init(_ known: [String]) { self.known = Set(known) }

    func report(_ event: AccessEvent) {
        let name = event.metadata.key.description
        let isUnreadable = event.providerResults.contains { if case .failure = $0.result { true } else { false } }
        self.state.withLock { state in
            // A setting that takes several values is looked up as one text first, and then as a list.
            if isUnreadable { state.unreadable.insert(name) } else { state.unreadable.remove(name) }
        }
    }

    /// Notes the names in a file while the file is read. None of the names is a secret.
    var ofFile: SecretsSpecifier<String, Void> {
        .dynamic { name, _ in
            self.state.withLock { _ = $0.inFile.insert(name) }
            return false
        }
    }

    /// Checks the names after every setting was looked up. Throws a usage ``CommandFailure`` for a name in the file or
    /// in the environment that belongs to no setting, or whose value is no text.
    func check(environment: [String: String]) throws {
        let state = self.state.withLock { $0 }
        if let name = state.unreadable.min() {
            throw CommandFailure(
                .usage, "\(name) in the configuration file takes one value, not a list")
        }
        for name in state.inFile.subtracting(self.known).sorted() {
            if let group = name.split(separator: ".").first.map(String.init), group != name, self.known.contains(group)
            {
                throw CommandFailure(
                    .usage, "\(group) in the configuration file takes one text, not a group of settings")
            }
            throw Self.unknown("setting \(name) in the configuration file", name, among: self.known)
        }
        let variables = Set(self.known.map(Self.variable)).union(Self.otherVariables)
        for name in environment.keys.sorted() where name.hasPrefix("COUNTERSIGN_") && !variables.contains(name) {
            guard !Self.serviceLinks.contains(where: { name == $0 || name.hasPrefix($0 + "_") }) else { continue }
            throw Self.unknown("variable \(name)", name, among: variables)
        }
    }

    /// Returns the name of a setting's variable: `keyFile` is `COUNTERSIGN_KEY_FILE`.
    private static func variable(_ name: String) -> String {
        "COUNTERSIGN_" + name.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }

    private static func unknown(_ what: String, _ name: String, among known: Set<String>) -> CommandFailure {
        // All variables share the beginning, so the beginning makes no two names more alike.
        func bare(_ name: String) -> Substring { name.hasPrefix("COUNTERSIGN_") ? name.dropFirst(12) : name[...] }
        let distances = known.sorted().map { (name: $0, distance: self.distance(bare(name), bare($0))) }
        let nearest = distances.min { $0.distance < $1.distance }
        guard let nearest, nearest.distance <= bare(nearest.name).count / 3 else {
            return CommandFailure(
                .usage, "there is no \(what)", remedy: "There are: \(known.sorted().joined(separator: ", ")).")
        }
        return CommandFailure(.usage, "there is no \(what)", remedy: "Is it \(nearest.name)?")
    }

    /// Returns the number of letters to insert, remove or change to turn one name into the other (Levenshtein).
    private static func distance(_ left: Substring, _ right: Substring) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let replaced = diagonal + (letter == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
