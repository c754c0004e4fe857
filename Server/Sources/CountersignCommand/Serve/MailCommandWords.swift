import Foundation
import Settings
import _Primitives

/// The output of a mail command, without the parts that repeat the letter.
///
/// The output loses the recipient's address, the part of the address before the @, each word that has eight letters in
/// a row of the letter, and every passage that has twenty characters in a row of the letter. The letter means the
/// message as the command received the message, and the message's text. The sender's address stays, because the address
/// is a setting.
struct MailCommandWords {
    /// The mark in place of omitted words.
    private static let mark = "[letter]"
    private static let (wordRun, textRun) = (8, 20)

    /// The bytes that the letter has in a row, in small letters.
    private let words: Set<[UInt8]>
    private let texts: Set<[UInt8]>
    private let recipient: [UInt8]

    /// Creates the words of a command that gets this message.
    init(of message: [UInt8]) {
        let lines = message.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let head = lines.prefix { !$0.isEmpty }
        let body = lines.dropFirst(head.count).joined()
        let text = Data(base64Encoded: Data(body), options: .ignoreUnknownCharacters).map(Array.init) ?? []
        let letter = [message, text].map(Self.lowercased)
        let sender = Self.address("From", in: head)
        self.words = Set(
            letter.flatMap { Self.runs(Self.wordRun, of: $0) }.filter { !$0.contains(where: Self.isSpace) }
        )
        .subtracting(Self.runs(Self.wordRun, of: sender))
        self.texts = Set(letter.flatMap { Self.runs(Self.textRun, of: $0) })
            .subtracting(Self.runs(Self.textRun, of: sender))
        self.recipient = Self.address("To", in: head)
    }

    /// Returns the beginning of the output, on one line.
    func shown(_ said: [UInt8]) -> String {
        let said = Array(said.prefix(Limits.Fixed.mailCommandWordBytes))
        let small = Self.lowercased(said)
        var isOfLetter = [Bool](repeating: false, count: said.count)
        func leaveOut(_ place: Int, _ count: Int) {
            for index in place..<(place + count) { isOfLetter[index] = true }
        }
        for place in small.indices {
            if Self.run(Self.wordRun, of: small, at: place).map(self.words.contains) == true {
                leaveOut(place, Self.wordRun)
            }
            if Self.run(Self.textRun, of: small, at: place).map(self.texts.contains) == true {
                leaveOut(place, Self.textRun)
            }
        }
        let name = self.recipient.split(separator: UInt8(ascii: "@")).first.map(Array.init) ?? []
        for address in [self.recipient, name] where !address.isEmpty {
            for place in small.indices where Self.run(address.count, of: small, at: place) == address {
                let (before, after) = (place - 1, place + address.count)
                // Letters around a short name make another word.
                let isWord =
                    (before < 0 || !Self.isLetter(small[before]))
                    && (after >= small.count || !Self.isLetter(small[after]))
                if isWord || address.count == self.recipient.count { leaveOut(place, address.count) }
            }
        }
        return Self.line(said, without: isOfLetter)
    }

    /// Returns the words without parts of the letter, with one mark for each row of omitted words. The lines follow
    /// each other.
    private static func line(_ said: [UInt8], without isOfLetter: [Bool]) -> String {
        let lines = said.indices.split { said[$0] == UInt8(ascii: "\n") || said[$0] == UInt8(ascii: "\r") }
        return lines.map { line in
            line.split { Self.isSpace(said[$0]) }.reduce(into: [String]()) { words, places in
                guard places.contains(where: { isOfLetter[$0] }) else {
                    return words.append(String(decoding: said[places], as: UTF8.self))
                }
                if words.last.map({ $0.hasSameBytes(as: Self.mark) }) != true { words.append(Self.mark) }
            }.joined(separator: " ")
        }.filter { !$0.isEmpty }.joined(separator: "; ")
    }

    private static func address(_ field: String, in head: ArraySlice<ArraySlice<UInt8>>) -> [UInt8] {
        let name = Array("\(field): ".utf8)
        guard let place = head.firstIndex(where: { $0.starts(with: name) }) else { return [] }
        // A sender's long name continues in lines that begin with a space.
        let lines = head[place...].enumerated().prefix { $0.offset == 0 || $0.element.first == UInt8(ascii: " ") }
        let value = Array(lines.map(\.element).joined())
        guard let start = value.lastIndex(of: UInt8(ascii: "<")), let end = value.lastIndex(of: UInt8(ascii: ">")),
            start < end
        else { return [] }
        return Self.lowercased(Array(value[(start + 1)..<end]))
    }

    private static func runs(_ count: Int, of bytes: [UInt8]) -> [[UInt8]] {
        bytes.indices.compactMap { Self.run(count, of: bytes, at: $0) }
    }

    private static func run(_ count: Int, of bytes: [UInt8], at place: Int) -> [UInt8]? {
        place + count <= bytes.count ? Array(bytes[place..<(place + count)]) : nil
    }

    private static func lowercased(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 + 0x20 : $0 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 }

    private static func isLetter(_ byte: UInt8) -> Bool {
        byte >= 0x80 || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
