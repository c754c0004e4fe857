import CountersignTestKit
import Foundation
import _Primitives

/// Writes the test vectors into a folder, one file for each scenario: `VectorCommand FOLDER [SEED]`.
///
/// The command writes every file anew, even if an existing file differs only in the bytes of random signatures: a user
/// of the command wants new vectors.
@main
enum VectorCommand {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let folder = arguments.first, arguments.count <= 2 else {
            try FileHandle.standardError.write(contentsOf: Data("usage: VectorCommand FOLDER [SEED]\n".utf8))
            exit(2)
        }
        let seed = arguments.dropFirst().first ?? "countersign"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var bytes = 0
        let scenarios = UAFScenario.all
        for scenario in scenarios {
            let content = try scenario.vector(random: .repeatable("\(seed)/\(scenario.id)")).serialized
            bytes += content.count
            try Data(content).write(to: URL(fileURLWithPath: folder).appendingPathComponent("\(scenario.id).json"))
        }
        print("\(scenarios.count) vectors, \(bytes) bytes")
    }
}
