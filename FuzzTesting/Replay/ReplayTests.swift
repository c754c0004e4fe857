import Foundation
import Testing

/// A file of `FailCases`: bytes that a parser once did wrong.
private struct FailCase: CustomTestStringConvertible, Sendable {
    let target: FuzzTarget
    let name: String
    let bytes: [UInt8]

    var testDescription: String { "\(self.target.rawValue)/\(self.name)" }

    static let all: [FailCase] = {
        guard let folder = Bundle.module.resourceURL?.appendingPathComponent("FailCases") else { return [] }
        return FuzzTarget.allCases.flatMap { target in
            let files = try? FileManager.default.contentsOfDirectory(
                at: folder.appendingPathComponent(target.rawValue), includingPropertiesForKeys: nil)
            return (files ?? []).compactMap { file in
                (try? Data(contentsOf: file)).map {
                    FailCase(target: target, name: file.lastPathComponent, bytes: Array($0))
                }
            }
        }
    }()
}

@Suite("Every parser that reads from outside (RFC 8259, uaf-sections §3, RFC 7515 to 7517)")
struct ReplayTests {
    @Test("Bytes that a parser once did wrong are read or refused as they should be", arguments: FailCase.all)
    private func failCase(failCase: FailCase) {
        #expect(failCase.target.holds(failCase.bytes))
    }

    @Test("Bytes that are nothing in particular are refused without harm", arguments: FuzzTarget.allCases)
    func small(target: FuzzTarget) {
        #expect(target.holds([]))
        for byte in UInt8.min...UInt8.max {
            #expect(target.holds([byte]))
            #expect(target.holds([UInt8](repeating: byte, count: 65)))
        }
    }

    @Test("Texts that are nested or repeated beyond reason are refused without harm", arguments: FuzzTarget.allCases)
    func excessive(target: FuzzTarget) {
        for text in ["[", "{\"a\":", "\"\\u", "9", "a.", "%", "\u{301}"] {
            #expect(target.holds(Array(String(repeating: text, count: 20_000).utf8)))
        }
    }
}
