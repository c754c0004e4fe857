import Foundation

/// The way in which a setting's value stands as text: in the file, in the environment, at the flag and in the printed
/// settings.
struct SettingForm<Value: Equatable & Sendable>: Sendable {
    /// `true` if the setting takes several values: one text with commas between the values or, in a file, a list.
    var isList = false
    /// Reads the text of the setting with a name. Throws a usage ``CommandFailure`` that names the setting.
    let read: @Sendable (_ text: String, _ name: String) throws -> Value
    /// Returns the text of a value. Reading the text gives the value again.
    let write: @Sendable (_ value: Value) -> String

    /// Returns the values between the commas of a text, without empty values.
    private static func entries(_ text: String) -> [String] {
        text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}

extension SettingForm<String> {
    /// Any text.
    static var text: Self { Self(read: { text, _ in text }, write: { $0 }) }
    /// Several values as one text.
    static var texts: Self { Self(isList: true, read: { text, _ in text }, write: { $0 }) }
    /// The path of a file or a folder. The value is absolute.
    static var path: Self { Self(read: { text, _ in ServeConfiguration.absolute(text) }, write: { $0 }) }
    /// A web address. The value has no slash at its end.
    static var address: Self {
        Self(
            read: { text, _ in
                var address = text
                while address.hasSuffix("/") { address.removeLast() }
                return address
            }, write: { $0 })
    }
}

extension SettingForm<[String]> {
    /// Several words.
    static var words: Self {
        Self(isList: true, read: { text, _ in Self.entries(text) }, write: { $0.joined(separator: ",") })
    }

    /// The paths of several files. The values are absolute.
    static var paths: Self {
        Self(
            isList: true, read: { text, _ in Self.entries(text).map(ServeConfiguration.absolute) },
            write: { $0.joined(separator: ",") })
    }
}

extension SettingForm<Bool> {
    /// `true` or `false`.
    static var flag: Self {
        Self(
            read: { text, name in
                switch text {
                case "true": return true
                case "false": return false
                default: throw CommandFailure(.usage, "\(name) takes true or false, not \(text)")
                }
            }, write: { "\($0)" })
    }
}

extension SettingForm<Int> {
    /// A number of at least 1.
    static var count: Self {
        Self(
            read: { text, name in
                guard let count = Int(text), count > 0 else {
                    throw CommandFailure(.usage, "\(name) takes a number of at least 1, not \(text)")
                }
                return count
            }, write: { "\($0)" })
    }
}

extension SettingForm<ServeConfiguration.Endpoint> {
    /// `HOST:PORT`.
    static var endpoint: Self {
        Self(
            read: { text, name in
                guard let endpoint = ServeConfiguration.Endpoint(text) else {
                    throw CommandFailure(.usage, "\(name) takes HOST:PORT, not \(text)")
                }
                return endpoint
            }, write: { "\($0)" })
    }
}

extension SettingForm where Value: RawRepresentable<String> & CaseIterable {
    /// One word of a few.
    static var choice: Self {
        Self(
            read: { text, name in
                guard let value = Value(rawValue: text) else {
                    let values = Value.allCases.map(\.rawValue).joined(separator: ", ")
                    throw CommandFailure(.usage, "\(name) takes one of \(values), not \(text)")
                }
                return value
            }, write: { $0.rawValue })
    }
}

extension SettingForm<[String: Int]> {
    /// `name=number,name=number`.
    static var numbers: Self {
        Self(
            isList: true,
            read: { text, name in
                var numbers: [String: Int] = [:]
                for entry in Self.entries(text) {
                    let parts = entry.split(separator: "=").map { $0.trimmingCharacters(in: .whitespaces) }
                    guard parts.count == 2, let number = Int(parts[1]), number > 0 else {
                        throw CommandFailure(
                            .usage, "\(name) takes name=number, separated by commas, not \(entry)",
                            remedy:
                                "The number is of at least 1: seconds of a lifetime, the count of a budget or a share.")
                    }
                    numbers[parts[0]] = number
                }
                return numbers
            },
            write: { numbers in
                numbers.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
            })
    }
}
