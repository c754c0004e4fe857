import Configuration
import Foundation
import SystemPackage

extension ServeCommand {
    /// The texts of the given flags, by the name of their setting.
    var flags: [String: String] {
        var flags: [String: String] = [:]
        for setting in ServeSetting.all { flags[setting.name] = setting.flagText(self) }
        return flags
    }
}

extension ServeConfiguration {
    /// Merges the three sources. Throws ``CommandFailure`` with the key that is wrong.
    static func load(
        file: String?, flags: [String: String], environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> ServeConfiguration {
        let names = SettingNames(ServeSetting.all.map(\.name))
        var providers: [any ConfigProvider] = [
            InMemoryProvider(
                name: "flags",
                values: Dictionary(
                    uniqueKeysWithValues: flags.map {
                        (AbsoluteConfigKey([$0.key]), ConfigValue(.string($0.value), isSecret: false))
                    })),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "countersign"),
        ]
        if let file {
            do {
                providers.append(
                    try await FileProvider<YAMLSnapshot>(
                        parsingOptions: .init(secretsSpecifier: names.ofFile), filePath: FilePath(file)))
            } catch {
                guard FileManager.default.fileExists(atPath: file) else {
                    throw CommandFailure(.notFound, "there is no configuration file \(file)")
                }
                throw CommandFailure(.usage, "the configuration file \(file) cannot be read: \(error)")
            }
        }
        let reader = ConfigReader(providers: providers, accessReporter: names)
        var configuration = ServeConfiguration(environment: environment)
        var given: Set<String> = []
        for setting in ServeSetting.all {
            guard let text = setting.text(reader) else { continue }
            try setting.read(text, &configuration)
            given.insert(setting.name)
        }
        configuration.complete(isIssuerGiven: given.contains("issuer"))
        try names.check(environment: environment)
        try configuration.check()
        return configuration
    }

    /// The merged configuration as YAML, which ``load(file:flags:environment:)`` reads again. No setting is meant
    /// for a secret: settings name the files of keys.
    var printed: String {
        ServeSetting.all.compactMap { setting in
            setting.print(self).map { "\(setting.name): \(Self.asYAML($0))" }
        }.joined(separator: "\n")
    }

    /// Returns a setting's value as YAML: in quotes if YAML would read the plain value as something else, such as the
    /// address `[::1]:8080` as a list.
    private static func asYAML(_ value: String) -> String {
        let isPlain =
            value.first.map { !"[]{}&*!|>'\"%@`#,?:- ".contains($0) } == true && !value.contains(": ")
            && !value.contains(" #") && value.last != " "
        guard !isPlain else { return value }
        return "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
