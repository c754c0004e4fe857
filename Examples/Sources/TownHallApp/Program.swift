import Countersign
import CountersignLinux
import Foundation

/// `town-hall-app SERVER ROOT-KEY-FILE [BACK-END]`: the app in a terminal. `TOWN_HALL_APP_FOLDER` is the folder of the
/// app's data.
@main
struct Program {
    private static let usage = """
        usage: town-hall-app SERVER ROOT-KEY-FILE [BACK-END]

          SERVER         the address of the server that manages identities, to the letter
          ROOT-KEY-FILE  its root key: countersign admin identity root --file ROOT-KEY-FILE
          BACK-END       the address of the app's back end, such as that of Examples/BackEnd

        TOWN_HALL_APP_FOLDER is the folder of what the app keeps, ~/.town-hall-app where it is not set. The server has to
        know the app: countersign serve --facets linux:program:town-hall-app. Codes and PINs are typed, and stand in no
        command line. The Return key stands for a finger, because this machine has no reader for one.

        """

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments != ["--help"] else { return FileHandle.standardOutput.write(Data(Self.usage.utf8)) }
        guard (2...3).contains(arguments.count) else { Self.fail(Self.usage, code: 2) }
        guard let rootKey = try? String(contentsOfFile: arguments[1], encoding: .utf8) else {
            Self.fail("town-hall-app: \(arguments[1]) cannot be read.\n", code: 2)
        }
        let terminal = Terminal()
        do {
            try await Self.getReady(at: arguments[0], rootKey: rootKey, sensor: terminal)
        } catch let error as CountersignError where error.errorCode == .invalidConfiguration {
            Self.fail("town-hall-app: that is no server's address, or no root key. Try --help.\n", code: 2)
        } catch let error as CountersignError {
            Self.fail("town-hall-app: \(words(error))\n", code: 1)
        } catch let error as StorageError where error.code == .inUse {
            Self.fail("town-hall-app: the app is open already. Quit it there first.\n", code: 1)
        }
        let backEnd = arguments.dropFirst(2).first.flatMap { URL(string: $0) }
        let app = TownHallApp(
            sdk: .shared, screen: terminal, server: arguments[0], backEnd: backEnd.map { TownHallBackEnd(address: $0) })
        await app.appOpens()
        await terminal.say(Terminal.buttons)
        while let line = readLine(), line != "quit" { await Self.press(line, of: app, on: terminal) }
    }

    /// Initialises the SDK once, at the app's start.
    private static func getReady(at server: String, rootKey: String, sensor: any BiometricSensor) async throws {
        var configuration = IdentityConfiguration(servers: [.init(idmIdentifier: server, rootKeys: [rootKey])])
        configuration.deviceName = "Town hall app"
        let folder = ProcessInfo.processInfo.environment["TOWN_HALL_APP_FOLDER"]
        let platform = DevicePlatform(
            storage: try EncryptedFileStorage(directory: folder ?? NSHomeDirectory() + "/.town-hall-app"),
            fingerprintSensor: sensor, clock: try LinuxDeviceClock())
        try await CountersignSDK.shared.initialize(configuration, platform: platform)
    }

    private static func press(_ button: String, of app: TownHallApp, on terminal: Terminal) async {
        switch button {
        case _ where button.hasPrefix("open "):
            await app.codeOpened(button.dropFirst("open ".count).trimmingCharacters(in: .whitespaces))
        case "identities": await app.appOpens()
        case "sign in": await app.signInTapped()
        case "change pin": await app.guarded { try await $0.startChangePin(idmIdentifier: $1) }
        case "add finger": await app.guarded { try await $0.startAddAuthenticationFactor($1) }
        case "new phone": await app.guarded { try await $0.startRequestNewActivationData(idmIdentifier: $1) }
        case "delete account": await app.guarded { try await $0.startDeletion(idmIdentifier: $1) }
        case "leave": await app.leaveTapped()
        case "": await terminal.say(Terminal.buttons)
        default: await terminal.say("There is no such button: \(Terminal.buttons)")
        }
    }

    private static func fail(_ reason: String, code: Int32) -> Never {
        FileHandle.standardError.write(Data(reason.utf8))
        exit(code)
    }
}
