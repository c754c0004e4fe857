// swift-tools-version: 6.2
import PackageDescription

/// The load generator of `make bench` and the kill tests of `make test`: clients of a running server, with separate
/// keys. The package also measures the cost of verification without a server. The package is separate, so that neither
/// an app nor the server resolves it.

let protocols: Target.Dependency = .product(name: "CountersignProtocols", package: "countersign")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let sdk: Target.Dependency = .product(name: "Countersign", package: "countersign")
let linux: Target.Dependency = .product(name: "CountersignLinux", package: "countersign")
let testKit: Target.Dependency = .product(name: "CountersignTestKit", package: "countersign")
let relyingParty: Target.Dependency = .product(name: "UAFRelyingParty", package: "countersign-server")
let passwords: Target.Dependency = .product(name: "Passwords", package: "countersign-server")
let ceremonyEngine: Target.Dependency = .product(name: "CeremonyEngine", package: "countersign-server")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let secp256k1TestKeys: Target.Dependency = .product(name: "Secp256k1TestKeys", package: "countersign-server")

let package = Package(
    name: "countersign-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "countersign", path: ".."),
        .package(name: "countersign-server", path: "../Server"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .target(name: "ServerClients", dependencies: [protocols, crypto]),
        .executableTarget(
            name: "LoadGenerator", dependencies: ["ServerClients", passwords, sdk, linux, testKit, protocols, crypto]),
        .executableTarget(
            name: "VerificationCost", dependencies: [relyingParty, secp256k1TestKeys, protocols, crypto, cryptoExtras]),
        .executableTarget(name: "CrashTest", dependencies: ["ServerClients", protocols]),
        .executableTarget(
            name: "RenewalTest", dependencies: ["ServerClients", sdk, linux, testKit, protocols]),
        // This target compiles the fuzz targets' code again, for a counter of instructions.
        .executableTarget(
            name: "CountWork",
            dependencies: [relyingParty, ceremonyEngine, passwords, testKit, protocols, crypto, nioHTTP1]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .treatAllWarnings(as: .error),
    ]
}
