import CountersignTestKit
import Foundation
import _Primitives

/// Writes the test vectors, one file a scenario, into a folder: `VectorCommand FOLDER [SEED]`.
///
/// A file that is there already and differs only in the bytes of random signatures is made anew all the same: whoever runs
/// this wants new ones.
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
